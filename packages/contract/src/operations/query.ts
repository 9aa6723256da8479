import * as z from 'zod';

/** True only for the text `true`, as in the Go original. */
export const QueryFlag = z
  .string()
  .transform((text) => text === 'true')
  .meta({ type: 'boolean' });

/** A time in a query, as RFC 3339. */
export const time = (description: string) =>
  z.iso.datetime({ offset: true }).optional().meta({ description, format: 'date-time' });

/** A part of a list by time. `items` is the plural for the descriptions. */
export const timeRange = (items: string) => ({
  since: time(`Only ${items} of this time or later, as RFC 3339.`),
  until: time(`Only ${items} before this time, as RFC 3339.`),
});

/** A text that items must contain. */
export const search = (description: string) => z.string().min(1).max(256).optional().meta({ description });
