import {
  siClaude,
  siClaudecode,
  siCline,
  siCursor,
  siGithubcopilot,
  siGooglegemini,
  siKimi,
  siLmstudio,
  siMistralai,
  siOpencode,
  siQwen,
  siTrae,
  siWindsurf,
  siZedindustries,
} from 'simple-icons';

/*!
 * The paths are those of Simple Icons (https://simpleicons.org), CC0 1.0, except GitHub Copilot: MIT License,
 * Copyright (c) GitHub Inc. Permission is granted, free of charge, to deal in the Software without restriction, provided
 * that this copyright notice and this permission notice are included.
 */

/**
 * The logos of clients, by their IDs, as paths of 24 × 24 units. Others have none in this collection. The logos are
 * trademarks of their owners, and name only their products here.
 */
export const clientLogos: Readonly<Record<string, string>> = {
  'claude-code': siClaudecode.path,
  'claude-desktop': siClaude.path,
  cline: siCline.path,
  'cline-cli': siCline.path,
  'copilot-cli': siGithubcopilot.path,
  'copilot-xcode': siGithubcopilot.path,
  cursor: siCursor.path,
  'gemini-cli': siGooglegemini.path,
  'kimi-cli': siKimi.path,
  'kimi-code': siKimi.path,
  'lm-studio': siLmstudio.path,
  'mistral-vibe': siMistralai.path,
  opencode: siOpencode.path,
  'qwen-code': siQwen.path,
  trae: siTrae.path,
  windsurf: siWindsurf.path,
  'windsurf-jetbrains': siWindsurf.path,
  zed: siZedindustries.path,
};
