import * as z from 'zod';
import { operation } from '../operation.ts';
import { ChangeSetting, Setting, SettingList, SettingName } from '../schemas/setting.ts';

const byName = z.object({ name: SettingName.meta({ description: 'The name of the setting.' }) });

export const settingOperations = {
  listSettings: operation({
    method: 'GET',
    path: '/settings',
    tag: 'settings',
    summary: 'List settings',
    success: { status: 200, description: 'Every setting, whether it is set or not.', body: SettingList },
    failures: [],
  }),
  getSetting: operation({
    method: 'GET',
    path: '/settings/{name}',
    tag: 'settings',
    summary: 'Tell a setting',
    params: byName,
    success: { status: 200, description: 'The setting, whether it is set or not.', body: Setting },
    failures: [],
  }),
  changeSetting: operation({
    method: 'PUT',
    path: '/settings/{name}',
    tag: 'settings',
    summary: 'Change a setting',
    description:
      'Refused when the value makes no sense, or names a file or an address that cannot be used. Workloads that are there stay as they are.',
    params: byName,
    body: ChangeSetting,
    success: { status: 200, description: 'It is set.', body: Setting },
    failures: ['conflict'],
  }),
  unsetSetting: operation({
    method: 'DELETE',
    path: '/settings/{name}',
    tag: 'settings',
    summary: 'Take a setting back',
    params: byName,
    success: { status: 204, description: 'It is not set.' },
    failures: ['conflict'],
  }),
};
