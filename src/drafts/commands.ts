import { type Command, text } from '../command-line/command.ts';

/** CLI commands for drafts of offers and campaigns. */
export const draftCommands: readonly Command[] = [
  {
    name: 'drafts list',
    about: 'Lists drafts; exits with 1 if any are pending',
    options: { state: text('STATE', 'waiting (default), scheduled, live, refused, withdrawn or undone') },
    callsService: true,
    examples: ['drafts list', 'drafts list --state refused --json'],
    load: async () => (await import('./commands/drafts.ts')).listDrafts,
  },
  {
    name: 'drafts show',
    args: 'DRAFT',
    about: 'Shows each field that a draft changes, before and after',
    options: {},
    callsService: true,
    examples: ['drafts show 12'],
    load: async () => (await import('./commands/drafts.ts')).showDraft,
  },
  {
    name: 'drafts propose',
    args: 'offers|creatives|campaigns [ROW] FILE',
    about: 'Proposes a new or changed row from a JSON file with its fields; - reads standard input',
    options: {
      note: text('TEXT', 'note for the approver'),
      image: text('FILE', 'image of a new creative, or first image of a new offer'),
      revises: text('DRAFT', 'refused or waiting draft that this one replaces, with its image'),
    },
    callsService: true,
    examples: ['drafts propose offers 7 change.json', 'drafts propose offers new.json --image box.png'],
    load: async () => (await import('./commands/drafts.ts')).proposeDraft,
  },
  {
    name: 'drafts approve',
    args: 'DRAFT…',
    about: 'Approves drafts; exits with 1 if one could not be approved',
    options: {
      at: text('TIME', 'time at which they go live, such as 2026-11-27T00:00:00+01:00 (default: now)'),
      reason: text('TEXT', 'comment for their authors'),
    },
    callsService: true,
    examples: ['drafts approve 12 13 --reason Thanks', 'drafts approve 12 --at 2026-11-27T00:00:00+01:00'],
    load: async () => (await import('./commands/drafts.ts')).approveDrafts,
  },
  {
    name: 'drafts refuse',
    args: 'DRAFT…',
    about: 'Refuses drafts with a reason for their authors',
    options: { reason: text('TEXT', 'why') },
    callsService: true,
    examples: ['drafts refuse 12 --reason "The price is out of date."'],
    load: async () => (await import('./commands/drafts.ts')).refuseDrafts,
  },
  {
    name: 'drafts undo',
    args: 'DRAFT',
    about: 'Undoes the decision on a draft; an approved change is reverted',
    options: {},
    callsService: true,
    examples: ['drafts undo 12'],
    load: async () => (await import('./commands/drafts.ts')).undoDraft,
  },
];
