import { useState } from 'react';
import type { ReactNode } from 'react';
import type { ListedTool } from '@toolhive/contract/capabilities';
import { client } from '../../api/client.ts';
import { capabilities, workload } from '../../api/resources.ts';
import { refresh, useResource } from '../../api/store.ts';
import { Action } from '../../ui/action.tsx';
import { attempt, toast } from '../../ui/toasts.ts';
import { AreaField, TextField } from '../../ui/fields.tsx';

/** Enables, renames, and describes a tool. Changes are saved in the workload, which restarts. */
export function ToolSettings({ name, tool }: { name: string; tool: ListedTool }): ReactNode {
  const { data } = useResource(capabilities(name));
  const [newName, setNewName] = useState(tool.name);
  const [description, setDescription] = useState(tool.description ?? '');
  const change = (
    edit: (details: Awaited<ReturnType<typeof client.getWorkload>>) => object,
  ): Promise<boolean> =>
    attempt('Cannot change the tool', async () => {
      const details = await client.getWorkload({ params: { name } });
      await client.editWorkload({
        params: { name },
        headers: { 'if-match': `"${details.revision}"` },
        body: { ...details, ...edit(details) },
      });
      refresh(workload(name).key);
      refresh(capabilities(name).key);
      toast('Saved. The workload restarts.');
    });
  const setShown = (isShown: boolean): Promise<boolean> =>
    change(() => {
      const shown = (data?.tools ?? []).filter((each) => (each.name === tool.name ? isShown : each.is_shown));
      const all = shown.length === data?.tools.length;
      return { tools: all ? null : shown.map((each) => each.name) };
    });
  const override = (next: { name?: string; description?: string } | undefined): Promise<boolean> =>
    change(({ tools_override: overrides, tools }) => {
      const others = Object.entries(overrides ?? {}).filter(([key]) => key !== tool.original_name);
      const seen = next?.name ?? tool.original_name;
      return {
        tools_override: Object.fromEntries(
          next === undefined ? others : [...others, [tool.original_name, next]],
        ),
        // The filter contains the names that clients see.
        tools: tools?.map((each) => (each === tool.name ? seen : each)) ?? null,
      };
    });
  const isChanged = newName !== tool.name || description !== (tool.description ?? '');
  return (
    <details>
      <summary>Enable, rename, or describe this tool</summary>
      <div className="buttons">
        <Action onClick={() => void setShown(!tool.is_shown)}>
          {tool.is_shown ? 'Disable this tool' : 'Enable this tool'}
        </Action>
      </div>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void override({
            ...(newName === tool.original_name ? {} : { name: newName }),
            ...(description === (tool.original_description ?? tool.description ?? '') ? {} : { description }),
          });
        }}
      >
        <TextField
          label="Name that clients see"
          isRequired
          maxLength={256}
          value={newName}
          onChange={setNewName}
        />
        <AreaField label="Description that clients see" value={description} onChange={setDescription} />
        <div className="buttons">
          <Action type="submit" disabled={!isChanged}>
            Save
          </Action>
          {(tool.name !== tool.original_name || tool.original_description !== undefined) && (
            <Action onClick={() => void override(undefined)}>Use the server’s name and description</Action>
          )}
        </div>
      </form>
    </details>
  );
}
