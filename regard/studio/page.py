"""The page itself: a shell without words of its own, and the line of script that fills it."""

from __future__ import annotations

SHELL = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>regard studio</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/static/regard.css">
<script type="module" src="/static/studio.js"></script>
</head>
<body>
<div id="studio"></div>
<noscript>The studio needs JavaScript, which it loads from this machine alone.</noscript>
</body>
</html>
"""
BOOT = """import { studio } from "./regard.js";
studio(document.getElementById("studio"));
"""
