/** The problem of a required value that is absent. */
export const missing = 'is required';
