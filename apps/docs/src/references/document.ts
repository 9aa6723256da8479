import specification from '@generated/references/default/api.json';
import type { OpenApi } from '../plugins/references/open-api.ts';

/** The specification of the API that the site serves. It is generated, and tested to be what its type says. */
export const document = specification as OpenApi;
