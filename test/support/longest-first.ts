import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest, longest first: begun last, one of them would run alone at the end. */
const longest = [
  'dashboard/walk',
  'chaos/chaos',
  'browser/sdk/clients',
  'e2e/set-ups',
  'e2e/kill',
  'e2e/replay-kill',
  'browser/sdk/host',
  'embedded/demo/walk',
  'runtime/processes',
  'e2e/command-line',
  'browser/sdk/appearance',
  'browser/sdk/units',
  'embedded/postgres/embedded',
  'tracking/log/event-log',
  'reports/rollup/time-zones',
  'runtime/startup',
  'platform/db/pool',
  'offers/decision-log/re-decide',
  'e2e/readme',
  'catalog/management/creatives',
  'platform/db/health',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const found = longest.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
      return found < 0 ? longest.length : found;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
