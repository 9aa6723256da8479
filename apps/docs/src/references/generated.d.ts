/** Written by the plugin of the references while the site is built. */
declare module '@generated/references/default/api.json' {
  const document: object;
  export default document;
}
