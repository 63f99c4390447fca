import type { ErrorDetail } from '../platform/errors.ts';

type AddNotice = (publisherId: number, detail: ErrorDetail, refused: boolean) => void;

/** Counts the beacons of each publisher by who sent them, to notice when people are taken for robots. */
export type RobotTraffic = {
  count: (publisherId: number, isRobot: boolean, userAgent: string) => void;
  /** Adds a notice for each publisher of whose recent beacons not one came from a person, and counts anew. */
  addNotices: (add: AddNotice) => void;
};

/** Minimum number of beacons for a notice: a few may come from one crawler on one page. */
const minBeacons = 20;

/** Longest part of a user agent that a notice shows, in characters. */
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
        const message = `no event counts: all came from robots. If it is your app, allow its user agent: ${userAgent}`;
        add(publisherId, { path: '/user-agent', message }, false);
      }
    },
  };
}
