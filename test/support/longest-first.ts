import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The names of the files that take longest, longest first: begun last, one of them would run alone at the end. */
const longest = [
  'walk',
  'chaos',
  'kill',
  'set-ups',
  'clients',
  'processes',
  'replay-kill',
  'appearance',
  'command-line',
  'sign-in',
  'host',
  'readme',
  're-decide',
  'units',
  'retention',
  'pacing',
  'startup',
  'embedded',
  'time-zones',
  'usp',
  'races',
  'exact',
  'stopped-worker',
  'creatives',
  'wall',
  'page-fuzz',
  'pool',
  'activity',
  'health',
  'ranking',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const found = longest.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
      return found < 0 ? longest.length : found;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
