/** Build the module and its style sheet into regard/live/static. A digest of the sources stands in both, so that a test
 * without node sees a bundle that was not built again. */

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const sources = "src", target = "../regard/live/static";
const digest = createHash("sha256");
for (const name of readdirSync(sources).sort()) digest.update(`${name}\0`).update(readFileSync(`${sources}/${name}`)).update("\0");
const banner = `/*! regard, Apache-2.0; made from web/src, sha256 ${digest.digest("hex")} */`;
const preact = `/*! Preact, https://preactjs.com\n${readFileSync("node_modules/preact/LICENSE", "utf8").trim()}\n*/`;

mkdirSync(target, { recursive: true });
const common = { bundle: true, minify: true, legalComments: "none", logLevel: "warning", charset: "utf8" };
await build({
  ...common, entryPoints: [`${sources}/index.ts`], outfile: `${target}/regard.js`, format: "esm", target: "es2022",
  jsx: "automatic", jsxImportSource: "preact", banner: { js: `${banner}\n${preact}` },
});
await build({ ...common, entryPoints: [`${sources}/regard.css`], outfile: `${target}/regard.css`, banner: { css: banner } });
for (const name of ["regard.js", "regard.css"]) {
  const content = readFileSync(`${target}/${name}`);
  console.log(`${name}  ${content.length} bytes, ${gzipSync(content, { level: 9 }).length} gzipped`);
}
