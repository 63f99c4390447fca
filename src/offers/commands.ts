import { type Command, text } from '../command-line/command.ts';

/** Commands that explain decisions and show calls. */
export const offerCommands: readonly Command[] = [
  {
    name: 'explain',
    args: '[SESSION_ID]',
    about: 'Says why each offer is shown or not: to a made-up request, or in a session',
    options: {
      placement: text('NAME', 'the placement asked from'),
      user: text('ID', 'pub_user_id'),
      country: text('CODE', 'such as DE'),
      offer: text('ID', 'only this offer'),
      body: text('JSON', 'further fields of the request'),
    },
    callsService: true,
    examples: ['explain --placement checkout --user u-1 --country DE', 'explain 0197a000-0000-7000-8000-000000000001'],
    load: async () => (await import('./commands/explain.ts')).explain,
  },
  {
    name: 'ranking check',
    args: 'RANKING',
    about: 'Says what another ranking would have earned: weights, no_context or without_campaign',
    options: { campaign: text('ID', 'the campaign of without_campaign') },
    callsService: true,
    examples: ['ranking check no_context', 'ranking check without_campaign --campaign 7'],
    load: async () => (await import('./commands/ranking.ts')).checkRanking,
  },
  {
    name: 'logs tail',
    about: 'Shows calls to the service as they come, with what was refused or ignored of them',
    options: {
      status: text('STATUS', 'only with this status, such as 404 or 4xx'),
      placement: text('NAME', 'only fetches at this placement'),
      last: text('N', 'how many of before are shown first; default 10'),
    },
    callsService: true,
    examples: ['logs tail', 'logs tail --status 4xx', 'logs tail --placement checkout --json'],
    load: async () => (await import('./commands/logs.ts')).tailCalls,
  },
];
