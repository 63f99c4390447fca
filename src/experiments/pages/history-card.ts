import type { PublisherContext } from '../../catalog/pages.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { actionButton, card, table } from '../../shell/components.ts';
import { hasRole } from '../../shell/context.ts';
import { fieldName, moment } from '../../shell/format.ts';
import type { HistoryEntry } from '../configuration/history.ts';
import type { ExperimentView } from '../configuration/view.ts';

type OfExperiment = { experiment: ExperimentView; href: string };

/** Renders the history of an experiment, newest action first, with a button to undo an adoption. */
export function historyCard(context: PublisherContext, { experiment, href }: OfExperiment): Html {
  const { history, adopted } = experiment;
  const rows = history.toReversed().map((entry) => [moment(context.publisher, entry.at), entry.by, inWords(entry)]);
  const columns = [t('experiments.when'), t('experiments.who'), t('experiments.what')].map((text) => ({ text }));
  const canUndo = adopted !== null && hasRole(context.viewer.user.role, 'admin');
  return card(
    t('experiments.history'),
    html`
      ${adopted !== null && html`<p>${t('experiments.written', { arm: adopted.arm })}</p>${writtenList(adopted)}`}
      ${rows.length === 0 && html`<p class="hint">${t('experiments.noHistory')}</p>`}
      ${rows.length > 0 && table(t('experiments.history'), columns, rows)}`,
    canUndo ? { actions: actionButton(context, { to: `${href}/undo`, text: t('experiments.undo') }) } : {},
  );
}

function inWords({ action, version, arm = '' }: HistoryEntry): string {
  const texts: Record<HistoryEntry['action'], () => string> = {
    schedule: () => t('experiments.didSchedule', { version }),
    start: () => t('experiments.didStart', { version }),
    change: () => t('experiments.didChange', { version }),
    stop: () => t('experiments.didStop'),
    adopt: () => t('experiments.didAdopt', { arm }),
    undo: () => t('experiments.didUndo', { arm }),
  };
  return texts[action]();
}

const writtenList = ({ written }: NonNullable<ExperimentView['adopted']>): Html =>
  written.length === 0
    ? html`<p class="hint">${t('experiments.nothingWritten')}</p>`
    : html`<ul>${written.map(
        ({ resource, key, fields, made: isNew }) =>
          html`<li>${t(`experiments.in_${resource}`, { key })}: ${
            isNew === true ? t('experiments.newTheme') : Object.entries(fields).map(changeText).join('; ')
          }</li>`,
      )}</ul>`;

/** Returns text such as `Offers per response: 3 → 1`. */
const changeText = ([name, { old, new: now }]: [string, { old: unknown; new: unknown }]): string =>
  typeof now === 'object' && now !== null ? fieldName(name) : `${fieldName(name)}: ${old ?? '–'} → ${now ?? '–'}`;
