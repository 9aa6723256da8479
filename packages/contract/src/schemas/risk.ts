import * as z from 'zod';
import { riskNames, risks } from '../risks.ts';

export const Risk = z.enum(riskNames).meta({
  id: 'Risk',
  description: Object.entries(risks)
    .map(([name, what]) => `${name}: ${what}.`)
    .join(' '),
});
