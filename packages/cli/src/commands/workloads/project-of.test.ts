import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { projectOf } from './project-of.ts';

describe('the project of a configuration file', () => {
  test.each([
    ['/work/project/.vscode/mcp.json', '/work/project'],
    ['/work/project/.vscode/settings.json', '/work/project'],
    ['/work/my project/.cursor/mcp.json', '/work/my project'],
    ['/work/project/.devcontainer/devcontainer.json', '/work/project'],
    ['/work/project/.zed/settings.json', '/work/project'],
    ['/work/project/.kiro/settings/mcp.json', '/work/project'],
    ['/work/project/.junie/mcp/mcp.json', '/work/project'],
    ['/work/project/.mcp.json', '/work/project'],
    ['/work/project/api.code-workspace', '/work/project'],
    ['/work/project/.continue/mcpServers/one.yaml', '/work/project'],
    ['/work/.worktrees/fix/mcp.json', '/work/.worktrees/fix'],
    ['/work/.worktrees/fix/.vscode/mcp.json', '/work/.worktrees/fix'],
    ['/work/.config/mcp.json', '/work/.config'],
  ])('%s is %s', (file, project) => {
    expect(projectOf(file)).toBe(project);
  });

  test('is the working directory for a relative path, and for files of all projects', () => {
    expect(projectOf('.vscode/mcp.json')).toBe(process.cwd());
    expect(projectOf(join(homedir(), '.cursor/mcp.json'))).toBe(process.cwd());
    expect(projectOf(join(homedir(), '.mcp.json'))).toBe(process.cwd());
  });
});
