import { valueOf } from '@toolhive/state/values';
import type { Settings } from '@toolhive/state/settings-file';

/** How old a version should be by default: most malicious releases are found within a day. */
const defaultMinimumHours = 24;

/** Whether a version is younger than the setting minimum-package-age. */
export function isYoung(settings: Settings, publishedAt: string | undefined): boolean {
  if (publishedAt === undefined) return false;
  return Date.now() - Date.parse(publishedAt) < minimumHours(settings) * 60 * 60 * 1000;
}

function minimumHours(settings: Settings): number {
  try {
    return Number(valueOf(settings, 'minimum-package-age') ?? defaultMinimumHours);
  } catch {
    return defaultMinimumHours; // the list of settings reports the problem
  }
}
