import { expect, test } from 'vitest';
import { isMoving, splitReference } from './images.ts';

const digest = `sha256:${'0'.repeat(64)}`;

test.each([
  ['redis', 'docker.io', 'redis', undefined, undefined],
  ['example/server:1.2', 'docker.io', 'example/server', '1.2', undefined],
  ['ghcr.io/example/server', 'ghcr.io', 'ghcr.io/example/server', undefined, undefined],
  ['localhost:5000/server:dev', 'localhost:5000', 'localhost:5000/server', 'dev', undefined],
  ['localhost/server', 'localhost', 'localhost/server', undefined, undefined],
  [`quay.io/a/b:1@${digest}`, 'quay.io', 'quay.io/a/b', '1', digest],
  [`redis@${digest}`, 'docker.io', 'redis', undefined, digest],
])('takes apart %s', (image, host, repository, tag, digestOfIt) => {
  expect(splitReference(image)).toEqual({ host, repository, tag, digest: digestOfIt });
});

test.each([
  ['redis', true],
  ['redis:latest', true],
  ['redis:7', false],
  [`redis@${digest}`, false],
  [`redis:latest@${digest}`, false],
])('knows whether %s may mean something newer tomorrow', (image, moving) => {
  expect(isMoving(splitReference(image))).toBe(moving);
});
