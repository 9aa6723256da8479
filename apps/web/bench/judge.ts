import lighthouse, { desktopConfig } from 'lighthouse';
import type { RunnerResult } from 'lighthouse';

type Judgment = RunnerResult['lhr'];

/** Every screen keeps a stream of events open, so Lighthouse would wait until its own limit of 45 seconds. */
const maxWaitForLoad = 6_000;

/** On a busy machine, Chromium sometimes writes an incomplete trace, and Lighthouse asks for another run. */
const attempts = 3;

/** The screens that Lighthouse judges, with a workload `tester`. */
export const judgedScreens = [
  '/ui/',
  '/ui/w/tester',
  '/ui/w/tester/access',
  '/ui/w/tester/configuration',
  '/ui/w/tester/tools',
  '/ui/clients',
  '/ui/settings',
  '/ui/add',
];

/** What Lighthouse finds on a page, with its settings for desktop computers. */
export async function judge(
  address: string,
  port: number,
  onlyCategories: readonly string[],
): Promise<Judgment> {
  for (let attempt = 1; ; attempt++) {
    const result = await lighthouse(
      address,
      {
        port,
        logLevel: 'error',
        maxWaitForLoad,
        onlyCategories: [...onlyCategories],
        disableFullPageScreenshot: true,
      },
      desktopConfig,
    );
    if (result === undefined) throw new Error(`Lighthouse has no result for ${address}`);
    const { runtimeError } = result.lhr;
    if (runtimeError === undefined) return result.lhr;
    if (attempt === attempts) throw new Error(runtimeError.message);
    process.stderr.write(`${address}: ${runtimeError.code}, running Lighthouse again\n`);
  }
}

/** The audits that lower a score, with their category. */
export function faultsOf({ categories, audits }: Judgment): string[] {
  return Object.values(categories).flatMap(({ title, auditRefs }) =>
    auditRefs.flatMap(({ id, weight }) => {
      const { score = null, title: about } = audits[id] ?? {};
      return weight > 0 && score !== null && score < 0.9 ? [`${title}, ${score}: ${about}`] : [];
    }),
  );
}
