import type { PublisherContext } from '../../catalog/pages.ts';
import type { ManagementClient } from '../../management/page-client.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t, tHtml } from '../../platform/i18n/messages.ts';
import { card } from '../../shell/components.ts';
import { type Fields, hasRole } from '../../shell/context.ts';
import { count, percent } from '../../shell/format.ts';
import type { ExperimentValues } from '../configuration/view.ts';
import { type PlannedDesign, planFor, plannedShares } from '../report/find.ts';
import type { ExperimentPlan } from '../report/plan.ts';
import { readForm } from './form.ts';
import { experimentValues, isWizard, stateOf, stepField } from './wizard-state.ts';
import { inWords, maxDaysLeft } from './words.ts';

/**
 * Renders an element with the estimated duration of the experiment. The browser loads it, and updates it with each edit
 * in the ancestor that matches the selector.
 * @param content content until then
 */
export const planBox = ({ path }: PublisherContext, ancestor: string, content: Html): Html => html`
  <div id="plan" aria-live="polite" hx-post="${path('/experiments/new/plan')}" hx-include="closest ${ancestor}"
    hx-trigger="load, input delay:500ms from:closest ${ancestor}, change delay:200ms from:closest ${ancestor}">
    ${content}
  </div>`;

export const planning = (): Html => html`<p class="hint">${t('experiments.planning')}</p>`;

/** Renders a panel with the estimated duration next to the form of an experiment. */
export const planPanel = (context: PublisherContext): Html =>
  hasRole(context.viewer.user.role, 'admin')
    ? html`<div class="sticky">${card(t('experiments.plan'), planBox(context, '.split', planning()))}</div>`
    : nothing;

/** Dependencies of the plan. `userKeyMark` is the prefix of user keys (`pepperMark`). */
export type PlanDeps = { management: ManagementClient; userKeyMark: string };

/** Estimates the duration of a design with recent traffic. Returns null if its shares are not complete yet. */
function estimate(
  { management, userKeyMark }: PlanDeps,
  context: PublisherContext,
  design: PlannedDesign,
): Promise<ExperimentPlan> | null {
  const shares = [design.holdout, ...design.arms.map(({ share }) => share)];
  const total = shares.reduce((sum, share) => sum + share, 0);
  const [, ...compared] = plannedShares(design);
  const isCompared = compared.some((share) => share > 0);
  const isPossible = shares.every((share) => share >= 0) && total <= 1 + 1e-9 && design.smallest_lift > 0;
  return isCompared && isPossible ? management.read(context, (work) => planFor(work, design, userKeyMark)) : null;
}

/** Renders the estimated duration for the current values of a form or of the wizard, which may be incomplete. */
export function typedPlan(deps: PlanDeps, context: PublisherContext, fields: Fields): Promise<Html> {
  if (!isWizard(fields)) return planOfDesign(deps, context, readForm(fields, context) as PlannedDesign);
  const design = experimentValues(stateOf(fields), '', context) as PlannedDesign;
  return fields.text(stepField) === 'check' ? durationOf(deps, context, design) : planOfDesign(deps, context, design);
}

/** Renders the expected duration as one sentence. */
export async function durationOf(deps: PlanDeps, context: PublisherContext, design: PlannedDesign): Promise<Html> {
  const { days = null, lift = 0 } = (await estimate(deps, context, design)) ?? {};
  if (days === null) return html`${t('experiments.planNone')}`;
  if (days > maxDaysLeft) return html`${t('experiments.notEnoughLong')}`;
  return html`${t('experimentWizard.takes', { days, lift: percent(lift) })}`;
}

export async function planOfDesign(deps: PlanDeps, context: PublisherContext, design: PlannedDesign): Promise<Html> {
  const plan = await estimate(deps, context, design);
  if (plan === null) return html`<p class="hint">${t('experiments.planIncomplete')}</p>`;
  return html`<p>${inWords(design as ExperimentValues, context.publisher)}</p>${planText(plan)}`;
}

function planText({ lift, days, users_needed: needed, users_per_day: perDay }: ExperimentPlan): Html {
  if (days === null || needed === null) return html`<p class="hint">${t('experiments.planNone')}</p>`;
  return html`
    <p class="reach">
      ${
        days > maxDaysLeft
          ? t('experiments.notEnoughLong')
          : tHtml('experiments.planDays', { days, lift: percent(lift) })
      }
    </p>
    <p class="hint">${t('experiments.planUsers', { users: count(needed), perDay: count(perDay) })}</p>`;
}
