import * as z from 'zod';
import { operation } from '../operation.ts';
import { ChangeSetting, Setting, SettingList, SettingName } from '../schemas/setting.ts';

const byName = z.object({ name: SettingName.meta({ description: 'The setting name.' }) });

export const settingOperations = {
  listSettings: operation({
    method: 'GET',
    path: '/settings',
    tag: 'settings',
    access: 'read',
    command: 'none',
    summary: 'List settings',
    success: { status: 200, description: 'All settings, with and without a value.', body: SettingList },
    failures: [],
  }),
  getSetting: operation({
    method: 'GET',
    path: '/settings/{name}',
    tag: 'settings',
    access: 'read',
    command: ['config otel get-tracing-enabled'],
    summary: 'Get a setting',
    params: byName,
    success: { status: 200, description: 'The setting, with or without a value.', body: Setting },
    failures: [],
  }),
  changeSetting: operation({
    method: 'PUT',
    path: '/settings/{name}',
    tag: 'settings',
    access: 'write',
    command: ['config otel set-tracing-enabled'],
    summary: 'Change a setting',
    description:
      'Fails if the value is invalid, or if it is a file or an address that ToolHive cannot use. Existing workloads do not change.',
    params: byName,
    body: ChangeSetting,
    success: { status: 200, description: 'The setting is changed.', body: Setting },
    failures: ['conflict'],
  }),
  unsetSetting: operation({
    method: 'DELETE',
    path: '/settings/{name}',
    tag: 'settings',
    access: 'write',
    command: ['config otel unset-tracing-enabled'],
    summary: 'Unset a setting',
    params: byName,
    success: { status: 204, description: 'The setting is unset.' },
    failures: ['conflict'],
  }),
};
