import specification from '@generated/references/default/api.json';
import type { OpenApi } from '../plugins/references/open-api.ts';

/** The API specification that the site serves. It is generated, and a test compares it with its type. */
export const document = specification as OpenApi;
