import * as z from 'zod';
import { settings } from '../settings.ts';

/** The name of a setting. */
export const SettingName = z.enum(settings.map(({ name }) => name)).meta({
  id: 'SettingName',
  description: settings.map(({ name, summary }) => `${name}: ${summary}.`).join(' '),
  examples: ['otel-tracing-enabled', 'ca-cert'],
});
export type SettingName = z.infer<typeof SettingName>;

/** A setting value. A text is parsed like the argument of a command, for values of every type. */
export const SettingValue = z
  .union([z.boolean(), z.number(), z.string().max(4096), z.array(z.string().max(256)).max(1000)])
  .meta({
    id: 'SettingValue',
    description:
      'A value. A text is parsed like the argument of a command: `true`, `0.5`, `NODE_ENV,REGION`.',
    examples: [true, 0.5, 'collector.example.com:4318', ['NODE_ENV', 'REGION']],
  });
export type SettingValue = z.infer<typeof SettingValue>;

/** A setting with its current value. */
export const Setting = z
  .object({
    name: SettingName,
    title: z.string().meta({ description: 'The name for people.' }),
    choices: z.array(z.string()).optional().meta({
      description: 'All values, as texts. Absent if there are many.',
    }),
    summary: z.string().meta({ description: 'The meaning of the setting.' }),
    value: SettingValue.nullable().meta({ description: 'The value, or null if the setting is not set.' }),
    problem: z.string().optional().meta({
      description: 'The reason why the value in `config.yaml` is invalid or has no effect, for users.',
    }),
  })
  .meta({
    id: 'Setting',
    description: 'A daemon setting.',
    examples: [
      {
        name: 'otel-endpoint',
        title: 'OpenTelemetry collector',
        summary: 'who collects traces',
        value: 'collector.example.com:4318',
      },
    ],
  });
export type Setting = z.infer<typeof Setting>;

/** All settings. */
export const SettingList = z
  .object({ settings: z.array(Setting) })
  .meta({ id: 'SettingList', description: 'All settings, in the order of the reference.' });

/** The new value of a setting. */
export const ChangeSetting = z
  .object({ value: SettingValue })
  .meta({ id: 'ChangeSetting', description: 'The new value of a setting.', examples: [{ value: true }] });
