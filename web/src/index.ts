/** The live module of regard: studio, figures, reports, and the widget of notebooks. */

import { report } from "./report";
import { render } from "./widget";

export { figure } from "./figure";
export { report };
export { studio } from "./studio";
export default { render };

// A report holds this module as its only script.
const page = document.querySelector('main[data-live="report"]');
if (page) report(page);
