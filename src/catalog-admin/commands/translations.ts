import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createApi, openFile } from '../../command-line/api.ts';
import { exitCodes, idOption, type Run, textOption } from '../../command-line/command.ts';
import { counted } from '../../command-line/counted.ts';
import { fileQueryOf, printDryRun, printErrors } from '../../command-line/file-options.ts';
import type { DryRunView } from '../../platform/files/counter.ts';
import { fileOf } from './catalogue.ts';

const path = '/manage/v1/translations';

export const exportTranslations: Run = async (call) => {
  const file = fileOf(call);
  const query = new URLSearchParams();
  const filters = { offer_id: idOption(call, 'offer'), campaign_id: idOption(call, 'campaign') };
  for (const [name, id] of Object.entries(filters)) if (id !== null) query.set(name, String(id));
  const languages = textOption(call, 'languages');
  if (languages !== '') query.set('languages', languages);
  const text = await createApi(call).stream(`${path}?${query}`, call.signal);
  await pipeline(Readable.from(text), createWriteStream(file));
  call.out.data({ file });
  call.out.line(`Exported the offer copy to ${file}.`);
  return exitCodes.ok;
};

type Imported = { data: DryRunView & { offers: number; texts: number; languages: string[] } };

export const importTranslations: Run = async (call) => {
  const file = await openFile(call, fileOf(call));
  const isDryRun = call.options['dry-run'] === true;
  const request = { query: fileQueryOf(call), file };
  const { data } = (await createApi(call).call('POST', path, request)) as Imported;
  const summary = `${counted(data.texts, 'string')} of ${counted(data.offers, 'offer')}`;
  if (isDryRun) {
    call.out.line(`${summary} would change.`);
    return printDryRun(call, data);
  }
  call.out.data(data);
  call.out.line(`Changed ${summary}.`);
  printErrors(call, data.errors);
  return exitCodes.ok;
};
