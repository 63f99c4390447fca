import { createApi, printResponse } from '../../command-line/api.ts';
import { exitCodes, type Run, usageError } from '../../command-line/command.ts';
import type { CustomRole } from '../../shell/context.ts';

const path = '/manage/v1/roles';

type Api = ReturnType<typeof createApi>;

/** Reads a publisher's roles. One page of 100 is always enough, because a publisher has only a few roles. */
const readRoles = async (api: Api): Promise<CustomRole[]> =>
  ((await api.call('GET', path, { query: { limit: '100', sort: 'name' } })) as { data: CustomRole[] }).data;

const findRole = async (api: Api, name: string): Promise<CustomRole | undefined> =>
  (await readRoles(api)).find((role) => role.name.toLowerCase() === name.toLowerCase());

export const listRoles: Run = async (call) => {
  const roles = await readRoles(createApi(call));
  call.out.data(roles);
  for (const { id, name, permissions } of roles) call.out.line(`${id}  ${name}  ${permissions.join(' ')}`);
  return exitCodes.ok;
};

export const setRole: Run = async (call) => {
  const [name = '', ...permissions] = call.args;
  if (name === '' || permissions.length === 0) throw usageError('Expected the name of a role and its permissions.');
  const api = createApi(call);
  const role = await findRole(api, name);
  const body = { name, permissions };
  return printResponse(
    call,
    role === undefined ? await api.call('POST', path, { body }) : await api.call('PUT', `${path}/${role.id}`, { body }),
  );
};

export const removeRole: Run = async (call) => {
  const [name, ...rest] = call.args;
  if (name === undefined || rest.length > 0) throw usageError('Expected the name of one role.');
  const api = createApi(call);
  const role = await findRole(api, name);
  if (role === undefined) throw usageError(`There is no role "${name}".`);
  await api.call('DELETE', `${path}/${role.id}`);
  call.out.data({ removed: role });
  call.out.line(`Removed ${role.name}.`);
  return exitCodes.ok;
};
