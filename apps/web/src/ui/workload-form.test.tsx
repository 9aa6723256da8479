import { useState } from 'react';
import type { ReactNode } from 'react';
import { expect, test } from 'vitest';
import { render } from 'vitest-browser-react';
import { answerAs } from '../testing/daemon.ts';
import { emptyDraft } from './workload-draft.ts';
import { WorkloadForm } from './workload-form.tsx';

function RemoteForm(): ReactNode {
  const [draft, setDraft] = useState(emptyDraft);
  return <WorkloadForm draft={draft} onChange={setDraft} source="remote" />;
}

test('the field for the URL of a remote server says that a page is no server', async () => {
  answerAs({ listGroups: () => ({ groups: [] }), getSecretsProvider: () => ({}) as never });
  const screen = await render(<RemoteForm />);
  const field = screen.getByLabelText(/^URL of the remote server/);

  await field.fill('https://github.com/acme/server');
  await expect.element(field).toHaveAttribute('aria-invalid', 'true');
  await expect.element(field).toHaveAccessibleDescription(/the page of a repository on github\.com/);

  await field.fill('https://mcp.example.com/mcp');
  await expect.element(field).toHaveAttribute('aria-invalid', 'false');
});
