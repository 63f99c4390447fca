import { type Command, flag, text } from '../command-line/command.ts';

/** Command-line commands that explain decisions, and show sessions and calls. */
export const offerCommands: readonly Command[] = [
  {
    name: 'explain',
    args: '[SESSION_ID]',
    about: 'Explains why offers are shown or not, for a sample request or a session',
    options: {
      placement: text('NAME', 'placement of the request'),
      user: text('ID', 'pub_user_id'),
      country: text('CODE', 'country of the user, such as DE'),
      offer: text('ID', 'only this offer'),
      body: text('JSON', 'more fields of the request'),
    },
    callsService: true,
    examples: ['explain --placement checkout --user u-1 --country DE', 'explain 0197a000-0000-7000-8000-000000000001'],
    load: async () => (await import('./commands/explain.ts')).explain,
  },
  {
    name: 'story',
    args: 'ID',
    about: 'Shows what happened in a session, found by any of its IDs',
    options: {},
    callsService: true,
    examples: ['story 0197a000-0000-7000-8000-000000000001', 'story order-1001'],
    load: async () => (await import('./commands/story.ts')).showStory,
  },
  {
    name: 'logs tail',
    about: 'Shows calls to the service as they arrive, with rejections and ignored fields',
    options: {
      status: text('STATUS', 'only calls with this status, such as 404 or 4xx'),
      placement: text('NAME', 'only fetches at this placement'),
      last: text('N', 'number of earlier entries to show first (default 10)'),
    },
    callsService: true,
    examples: ['logs tail', 'logs tail --status 4xx', 'logs tail --placement checkout --json'],
    load: async () => (await import('./commands/logs.ts')).tailCalls,
  },
  {
    name: 'log',
    about: 'Lists calls from the API log: rejected and slow calls, changes, and a sample of all other calls',
    options: {
      status: text('STATUS', 'only calls with this status, such as 404, 4xx or slow'),
      code: text('CODE', 'only calls with this error code'),
      route: text('ROUTE', 'only calls to this route, such as /manage/v1/offers/:id'),
      request: text('ID', 'only the call with this request_id'),
      days: text('N', 'length of the period in days, up to 30 (default 7)'),
      groups: flag('counts calls by route and result instead'),
    },
    callsService: true,
    examples: ['log --status 4xx', 'log --groups', 'log --request k3v9x1-2f'],
    load: async () => (await import('./commands/log.ts')).showLog,
  },
];
