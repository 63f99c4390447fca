import { transaction } from '../../../platform/db/pool.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import type { App } from '../../../platform/ports.ts';
import { auditAccount } from '../../auth/account-log.ts';
import { startSession } from '../../auth/sessions.ts';
import { createSignIn } from '../../auth/sign-in.ts';
import { hasOperator } from '../../auth/users.ts';
import { nextPath, signInPath } from '../../shell/access.ts';
import { createForm, fieldsOf } from '../../shell/forms.ts';
import { pageHeaders } from '../../shell/headers.ts';
import { renderCard } from '../../shell/layout.ts';
import { actorFor } from '../../shell/management.ts';
import type { Tools } from '../../shell/pages.ts';

const schema = { hide: true };

/** The page everybody may see. */
export function signInPages(app: App, { deps, asset, cookies }: Tools): void {
  const { pool, config, now } = deps;
  const headers = pageHeaders(config.publicUrl);
  const trySignIn = createSignIn(deps);

  app.get<{ Querystring: { next?: string } }>(signInPath, { schema }, async (request, reply) => {
    const next = nextPath(String(request.query.next ?? ''));
    if (request.viewer !== null) return reply.code(303).headers(headers).header('location', next).send();
    const body = (await hasOperator(pool)) ? form('', next, null) : html`${nobodyYet}${form('', next, null)}`;
    return reply.headers(headers).send(renderCard('Sign in', asset, body));
  });

  app.post(signInPath, { schema }, async (request, reply) => {
    const params = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
    const fields = fieldsOf(params);
    const email = fields.text('email');
    const next = nextPath(fields.text('next'));
    const tried = await trySignIn({ email, password: params.get('password') ?? '', address: request.ip });
    reply.headers(headers);
    if (tried.ok) {
      const { user } = tried;
      const token = await transaction(pool, async (executor) => {
        await auditAccount(executor, { actor: actorFor(user), user, action: 'sign_in', nowMs: now() });
        return startSession(executor, user.id, cookies.session(request), now());
      });
      cookies.setSession(reply, token);
      return reply.code(303).header('location', next).send();
    }
    if (tried.reason === 'locked') {
      const text = `Too many tries. Wait ${tried.minutes === 1 ? 'a minute' : `${tried.minutes} minutes`}, then try again.`;
      return reply
        .code(429)
        .header('retry-after', String(tried.minutes * 60))
        .send(renderCard('Sign in', asset, form(email, next, text)));
    }
    return reply
      .code(401)
      .send(renderCard('Sign in', asset, form(email, next, 'The address or the password is not right.')));
  });
}

function form(email: string, next: string, problem: string | null): Html {
  const f = createForm({ email });
  return html`${problem === null ? nothing : html`<div class="notice failed" role="alert"><p>${problem}</p></div>`}
<form method="post" action="${signInPath}" class="form"><input type="hidden" name="next" value="${next}">
${f.input('email', { label: 'E-mail address', type: 'email', autocomplete: 'username', required: true, autofocus: email === '' })}
${f.input('password', { label: 'Password', type: 'password', autocomplete: 'current-password', required: true, autofocus: email !== '' })}
<div class="form-end"><button class="button main wide">Sign in</button></div></form>`;
}

const nobodyYet = html`<div class="notice"><p><strong>Nobody can sign in yet.</strong> Make the first operator where Perkwire runs:</p><p><code>npm run operator:create -- --email you@example.com</code></p></div>`;
