/** The live module of regard: studio, figures, reports, and the widget of notebooks. */

export { figure } from "./figure";
