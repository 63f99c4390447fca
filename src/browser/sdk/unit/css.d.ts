/** The build replaces an imported style sheet by its minified text. */
declare module '*.css' {
  const css: string;
  export default css;
}
