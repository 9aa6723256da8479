import { expect, test } from 'vitest';
import type { Engine } from './engine.ts';
import { limitsOf, type EngineInfo } from './report.ts';

const modern: Engine = { kind: 'docker', socket: '/docker.sock', apiVersion: '1.47' };
const complete: EngineInfo = {
  MemoryLimit: true,
  SwapLimit: true,
  PidsLimit: true,
  CpuCfsQuota: true,
  SecurityOptions: ['name=seccomp,profile=builtin', 'name=userns'],
};

test('says nothing where everything can be enforced', () => {
  expect(limitsOf(modern, '28.2.2', complete)).toEqual([]);
});

test('says what the machine lacks', () => {
  const info = { ...complete, MemoryLimit: false, SecurityOptions: ['name=userns'] };

  expect(limitsOf(modern, '28.2.2', info).map(({ text }) => text)).toEqual([
    'memory cannot be limited: the memory cgroup is missing',
    'system calls are not filtered: the engine runs without seccomp',
  ]);
});

test('says what the engine is too old for', () => {
  const old: Engine = { kind: 'podman', socket: '/podman.sock', apiVersion: '1.41' };
  const info = { ...complete, SecurityOptions: ['name=seccomp,profile=default', 'name=rootless'] };

  expect(limitsOf(old, '4.3.1', info).map(({ text }) => text)).toEqual([
    'a server that uses too much memory is stopped, but Podman 4 does not report memory as the reason',
    'directories mounted below a read-only mount stay writable',
  ]);
});
