/** A folder of files and the workspace tools over it, run one call at a time without a loop around them. */
import { chmod, lstat, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { defineLoop, isToolResult, type ToolDefinition, type ToolResult, toolResult } from 'looprig';
import { scriptedModel } from 'looprig/testing';
import { bindLoop } from '../../src/bind/bind.ts';
import type { AccessRequest, Resource, ToolCall } from '../../src/define/tool.ts';
