import { transaction } from '../../../platform/db/pool.ts';
import { html } from '../../../platform/http/html.ts';
import type { App } from '../../../platform/ports.ts';
import { auditAccount } from '../../auth/account-log.ts';
import { hashPassword, minPasswordLength, passwordProblem } from '../../auth/passwords.ts';
import { endSession, endSessionsOf, startSession } from '../../auth/sessions.ts';
import { createSignIn } from '../../auth/sign-in.ts';
import { setPassword } from '../../auth/users.ts';
import { signInPath } from '../../shell/access.ts';
import { card, facts, saveForm } from '../../shell/components.ts';
import type { Context } from '../../shell/context.ts';
import { createForm, type Problems } from '../../shell/forms.ts';
import type { Page } from '../../shell/layout.ts';
import { actorOf } from '../../shell/management.ts';
import { commonPages, type Tools } from '../../shell/pages.ts';

/** Everybody's own account. */
export function accountPages(app: App, tools: Tools): void {
  const { deps, cookies } = tools;
  const { pool, now } = deps;
  const trySignIn = createSignIn(deps);
  const pages = commonPages(app, tools);

  pages.get('/account', 'analyst', (context) => show(context, []));

  pages.post('/account/password', 'analyst', async (context) => {
    const { user } = context.viewer;
    const params = context.request.body instanceof URLSearchParams ? context.request.body : new URLSearchParams();
    const [current = '', password = '', again = ''] = ['current', 'password', 'again'].map(
      (name) => params.get(name) ?? '',
    );
    const problem = passwordProblem(password, user.email);
    if (problem !== null) return show(context, [{ path: '/password', message: problem }]);
    if (password !== again) return show(context, [{ path: '/again', message: 'The two are not the same.' }]);
    const tried = await trySignIn({ email: user.email, password: current, address: context.request.ip });
    if (!tried.ok)
      return show(context, [
        {
          path: '/current',
          message:
            tried.reason === 'locked' ? `Too many tries. Wait ${tried.minutes} minutes.` : 'This is not your password.',
        },
      ]);
    const passwordHash = await hashPassword(password);
    const session = await transaction(pool, async (executor) => {
      await setPassword(executor, user.id, passwordHash);
      const happening = { actor: actorOf(context), user, action: 'update', nowMs: now() } as const;
      await auditAccount(executor, happening, { password: 'set' }, { password: 'changed' });
      await endSessionsOf(executor, user.id);
      return startSession(executor, user.id, null, now());
    });
    cookies.setSession(context.reply, session);
    return { to: context.path('/account'), done: 'Your password is changed. You are signed out everywhere else.' };
  });

  pages.post('/sign-out', 'analyst', async (context) => {
    await endSession(pool, context.viewer.sessionToken);
    cookies.endSession(context.reply);
    return { to: signInPath };
  });
}

function show(context: Context, problems: Problems): Page {
  const { user } = context.viewer;
  const f = createForm({}, problems);
  return {
    title: 'Your account',
    nav: 'account',
    status: problems.length > 0 ? 422 : 200,
    body: html`${card(
      'You',
      facts([
        ['E-mail address', user.email],
        ['Role', user.role],
      ]),
    )}
${card(
  'Change your password',
  saveForm(
    context,
    context.path('/account/password'),
    html`${f.summary()}${f.input('current', { label: 'Present password', type: 'password', autocomplete: 'current-password', required: true })}
${f.input('password', { label: 'New password', type: 'password', autocomplete: 'new-password', required: true, hint: `At least ${minPasswordLength} characters.` })}
${f.input('again', { label: 'The same once more', type: 'password', autocomplete: 'new-password', required: true })}`,
    { button: 'Change password' },
  ),
  { lead: 'You stay signed in here and are signed out everywhere else.' },
)}`,
  };
}
