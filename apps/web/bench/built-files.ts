import { atMost } from '../../../bench/tables.ts';
import type { Section } from '../../../bench/tables.ts';
import { weighUi, weightBudgets } from '../../../e2e/ui/weight.ts';
import { exactKilobytes } from './units.ts';

/** The sizes of the built files, compressed with Brotli. */
export async function builtFiles(): Promise<Section['rows']> {
  const { firstView, style, screens } = await weighUi();
  return [
    ['Built script of the first view', atMost(firstView, weightBudgets.firstView, exactKilobytes), '–'],
    ['Built styles', atMost(style, weightBudgets.style, exactKilobytes), '–'],
    ...[...screens].map(([file, bytes]): Section['rows'][number] => [
      `Additional script of ${file.replace('src/features/', '').replace('.tsx', '')}`,
      atMost(bytes, weightBudgets.screen, exactKilobytes),
      '–',
    ]),
  ];
}
