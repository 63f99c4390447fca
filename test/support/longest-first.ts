import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest, longest first: begun last, one of them would run alone at the end. */
const longest = [
  'chaos/chaos',
  'dashboard/walk',
  'e2e/kill',
  'embedded/postgres/embedded',
  'browser/sdk/host',
  'e2e/replay-kill',
  'reports/rollup/exact',
  'offers/decision-log/re-decide',
  'e2e/readme',
  'reports/rollup/ranges',
  'catalog/management/catalogue',
  'platform/http/graceful-close',
  'embedded/demo/walk',
  'dashboard/auth/sign-in',
  'reports/rollup/time-zones',
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
