/** The live module of regard: studio, figures, reports, and the widget of notebooks. */

import { render } from "./widget";

export { figure } from "./figure";
export { report } from "./report";
export { studio } from "./studio";
export default { render };
