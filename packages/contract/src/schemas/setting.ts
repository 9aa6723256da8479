import * as z from 'zod';
import { settings } from '../settings.ts';

/** The name of a setting. */
export const SettingName = z.enum(settings.map(({ name }) => name)).meta({
  id: 'SettingName',
  description: settings.map(({ name, summary }) => `${name}: ${summary}.`).join(' '),
  examples: ['otel-tracing-enabled', 'ca-cert'],
});
export type SettingName = z.infer<typeof SettingName>;

/** What a setting may be set to. A text is read as a person types it, whatever kind of value it stands for. */
export const SettingValue = z
  .union([z.boolean(), z.number(), z.string().max(4096), z.array(z.string().max(256)).max(1000)])
  .meta({
    id: 'SettingValue',
    description: 'A value; as a text it is read as a person types it: `true`, `0.5`, `NODE_ENV,REGION`.',
    examples: [true, 0.5, 'collector.example.com:4318', ['NODE_ENV', 'REGION']],
  });
export type SettingValue = z.infer<typeof SettingValue>;

/** A setting as it stands. */
export const Setting = z
  .object({
    name: SettingName,
    summary: z.string().meta({ description: 'What it says.' }),
    value: SettingValue.nullable().meta({ description: 'What it is set to; null when it is not.' }),
    problem: z.string().optional().meta({
      description: 'Why what stands in `config.yaml` cannot be used, or does nothing yet, for a person.',
    }),
  })
  .meta({
    id: 'Setting',
    description: 'Something that is set for the whole daemon, or not.',
    examples: [
      { name: 'otel-endpoint', summary: 'who collects traces', value: 'collector.example.com:4318' },
    ],
  });
export type Setting = z.infer<typeof Setting>;

/** All settings. */
export const SettingList = z
  .object({ settings: z.array(Setting) })
  .meta({ id: 'SettingList', description: 'All settings, in the order of the reference.' });

/** What a setting is to be. */
export const ChangeSetting = z
  .object({ value: SettingValue })
  .meta({ id: 'ChangeSetting', description: 'What a setting is to be.', examples: [{ value: true }] });
