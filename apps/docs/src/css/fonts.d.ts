declare module '*.woff2?common' {
  /** The address of the font. */
  const address: string;
  export default address;
}
