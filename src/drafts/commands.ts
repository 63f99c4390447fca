import { type Command, text } from '../command-line/command.ts';

/** Commands for drafts of offers and campaigns. */
export const draftCommands: readonly Command[] = [
  {
    name: 'drafts list',
    about: 'Lists drafts; exits with 1 where some wait',
    options: { state: text('STATE', 'waiting (default), scheduled, live, refused, withdrawn or undone') },
    callsService: true,
    examples: ['drafts list', 'drafts list --state refused --json'],
    load: async () => (await import('./commands/drafts.ts')).listDrafts,
  },
  {
    name: 'drafts show',
    args: 'DRAFT',
    about: 'Shows what a draft changes: each field before and after',
    options: {},
    callsService: true,
    examples: ['drafts show 12'],
    load: async () => (await import('./commands/drafts.ts')).showDraft,
  },
  {
    name: 'drafts propose',
    args: 'offers|creatives|campaigns [ROW] FILE',
    about: 'Proposes a new row or a change of one: FILE has its fields as JSON, - reads them from the input',
    options: {
      note: text('TEXT', 'for those who approve it'),
      image: text('FILE', 'picture of the new creative, or the first of the new offer'),
    },
    callsService: true,
    examples: ['drafts propose offers 7 change.json', 'drafts propose offers new.json --image box.png'],
    load: async () => (await import('./commands/drafts.ts')).proposeDraft,
  },
  {
    name: 'drafts approve',
    args: 'DRAFT…',
    about: 'Approves drafts: they are live, or at --at; exits with 1 where one was not',
    options: { at: text('TIME', 'when they go live, such as 2026-11-27T00:00:00+01:00') },
    callsService: true,
    examples: ['drafts approve 12 13', 'drafts approve 12 --at 2026-11-27T00:00:00+01:00'],
    load: async () => (await import('./commands/drafts.ts')).approveDrafts,
  },
  {
    name: 'drafts refuse',
    args: 'DRAFT…',
    about: 'Refuses drafts with a reason, which their authors see',
    options: { reason: text('TEXT', 'why') },
    callsService: true,
    examples: ['drafts refuse 12 --reason "The price is out of date."'],
    load: async () => (await import('./commands/drafts.ts')).refuseDrafts,
  },
  {
    name: 'drafts undo',
    args: 'DRAFT',
    about: 'Takes back the decision about a draft: what is live is as it was before',
    options: {},
    callsService: true,
    examples: ['drafts undo 12'],
    load: async () => (await import('./commands/drafts.ts')).undoDraft,
  },
];
