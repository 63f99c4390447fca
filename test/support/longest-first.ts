import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Slowest test files, slowest first. A slow file that starts last would run on its own at the end. */
const longest = [
  'chaos/chaos',
  'dashboard/walk',
  'e2e/set-ups',
  'security/event-loop',
  'demo/reference-pages',
  'e2e/kill',
  'runtime/processes',
  'e2e/replay-kill',
  'upgrades/upgrade',
  'browser/sdk/pages',
  'reports/rollup/time-zones',
  'browser/sdk/clients',
  'learning/disturbed',
  'offers/re-decide',
  'browser/sdk/appearance',
  'command-line/stopped',
  'e2e/command-line',
  'e2e/coupon-kill',
  'browser/sdk/host',
  'browser/sdk/consent',
  'runtime/startup',
  'accounts/authorisation',
  'dashboard/forms',
  'demo/walk',
  'privacy/pages/desk',
  'experiments/pages',
  'demo/crawl',
  'e2e/experiment',
  'e2e/membership-kill',
  'browser/sdk/units',
  'platform/lib/time-zone',
  'platform/http/idle-connections',
  'runtime/retention',
  'messages/pages/messages',
  'browser/sdk/methods',
  'reports/rollup/exact',
  'event-log/event-log',
  'accounts/sign-in',
  'embedded/embedded',
  'e2e/readme',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const place = longest.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
      return place < 0 ? longest.length : place;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
