import type { PublisherContext } from '../../catalog/pages.ts';
import { controlOf, holdoutArm } from '../../catalog/types.ts';
import { html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { actionButton, card, linkButton, notice } from '../../shell/components.ts';
import type { Page } from '../../shell/layout.ts';
import type { ExperimentView } from '../configuration/view.ts';
import type { ExperimentReport } from '../report/report.ts';
import { adoptionWarnings, changesInWords, headlineOf } from './words.ts';

type Adoption = { experiment: ExperimentView; report: ExperimentReport; arm: string; href: string };

/** Renders the page on which a user confirms that an arm becomes permanent, with the reasons against it. */
export function adoptPage(context: PublisherContext, { experiment, report, arm, href }: Adoption): Page {
  const warnings = adoptionWarnings(report, arm);
  return {
    title: t('experiments.makePermanent', { arm }),
    nav: 'experiments',
    trail: [
      { text: t('experiments.title'), href: context.path('/experiments') },
      { text: experiment.name || experiment.key, href },
    ],
    body: card(
      t('experiments.adoptTitle', { arm }),
      html`
        <div class="findings">
          ${warnings.length > 0 && notice('warn', html`<ul>${warnings.map((text) => html`<li>${text}</li>`)}</ul>`)}
          <p>${headlineOf(report, experiment.state)}</p>
          <p>${effectOf(context, experiment, arm)} ${t('experiments.adoptEnds')}</p>
          <div class="actions">
            ${actionButton(context, {
              to: `${href}/adopt`,
              values: { arm },
              text: t('experiments.makePermanent', { arm }),
              kind: warnings.length > 0 ? 'danger' : 'main',
            })}
            ${linkButton(href, t('common.cancel'), 'quiet')}
          </div>
        </div>`,
    ),
  };
}

/** Describes what all users get once the arm is permanent. */
function effectOf({ publisher }: PublisherContext, { arms, placements }: ExperimentView, arm: string): string {
  if (arm === holdoutArm) return t('experiments.adoptHoldout');
  const changes = arms.find(({ key }) => key === arm);
  const words = changes === undefined ? '' : changesInWords(changes, publisher);
  if (words === '' || arm === controlOf(arms)) return t('experiments.adoptControl');
  return t('experiments.adoptChanges', {
    changes: words,
    count: placements?.length ?? 0,
    names: placements?.join(', ') ?? '',
  });
}
