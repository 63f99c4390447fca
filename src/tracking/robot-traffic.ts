import type { ErrorDetail } from '../platform/errors.ts';
import { problem } from '../platform/problem.ts';

type AddNotice = (publisherId: number, detail: ErrorDetail, refused: boolean) => void;

/**
 * Counts each publisher's beacons from bots and from people, to detect people who are wrongly classified as bots.
 */
export type RobotTraffic = {
  count: (publisherId: number, isRobot: boolean, userAgent: string) => void;
  /** Adds a notice for each publisher whose recent beacons all came from bots, then resets the counts. */
  addNotices: (add: AddNotice) => void;
};

/**
 * Minimum number of beacons for a notice. A single crawler on one page may send a few beacons, which must not cause a
 * notice.
 */
const minBeacons = 20;

/** Maximum length of a user agent in a notice, in characters. */
const maxExample = 120;

export function createRobotTraffic(): RobotTraffic {
  const byPublisher = new Map<number, { robots: number; people: number; example: string }>();
  return {
    count: (publisherId, isRobot, userAgent) => {
      let traffic = byPublisher.get(publisherId);
      if (traffic === undefined) {
        traffic = { robots: 0, people: 0, example: '' };
        byPublisher.set(publisherId, traffic);
      }
      if (isRobot) {
        traffic.robots++;
        traffic.example = userAgent;
      } else traffic.people++;
    },
    addNotices: (add) => {
      for (const [publisherId, { robots, people, example }] of byPublisher) {
        if (people === 0 && robots < minBeacons) continue;
        byPublisher.delete(publisherId);
        if (people > 0) continue;
        const userAgent = example.slice(0, maxExample);
        const message = problem('allEventsFromRobots', { userAgent });
        add(publisherId, { path: '/user-agent', message }, false);
      }
    },
  };
}
