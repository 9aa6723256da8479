/** The longest text that can be imported, in characters. Without a schema, so that a page can know it. */
export const maxImportText = 500_000;
