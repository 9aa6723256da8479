import { useState } from 'react';
import type { ReactNode } from 'react';
import type { ListedTool } from '@toolhive/contract/capabilities';
import { Action } from '../../ui/action.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { AreaField, Form, TextField } from '../../ui/fields.tsx';
import { plainForeign } from '../../ui/text.tsx';
import { RestartNote } from './restart-note.tsx';
import { changeTools, withOverride } from './tool-changes.ts';

/** Another name and description of a tool for clients. */
export default function RenameDialog({
  name,
  tool,
  onClose,
}: {
  name: string;
  tool: ListedTool;
  onClose: () => void;
}): ReactNode {
  const [newName, setNewName] = useState(tool.name);
  const [description, setDescription] = useState(tool.description ?? '');
  const override = async (next: { name?: string; description?: string } | undefined): Promise<void> => {
    if (await changeTools(name, (details) => withOverride(details, tool, next))) onClose();
  };
  const isChanged = newName !== tool.name || description !== (tool.description ?? '');
  return (
    <Dialog title={`Rename ${plainForeign(tool.name)}`} onClose={onClose}>
      <Form
        onSubmit={() =>
          isChanged &&
          override({
            ...(newName === tool.original_name ? {} : { name: newName }),
            ...(description === (tool.original_description ?? tool.description ?? '') ? {} : { description }),
          })
        }
      >
        <TextField
          label="Name that clients see"
          isRequired
          maxLength={256}
          value={newName}
          onChange={setNewName}
        />
        <AreaField label="Description that clients see" value={description} onChange={setDescription} />
        <RestartNote name={name} />
        <div className="buttons">
          <Action type="submit" className="primary" disabled={!isChanged}>
            Save and restart
          </Action>
          {(tool.name !== tool.original_name || tool.original_description !== undefined) && (
            <Action onClick={() => override(undefined)}>Use the server’s name and description</Action>
          )}
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </Form>
    </Dialog>
  );
}
