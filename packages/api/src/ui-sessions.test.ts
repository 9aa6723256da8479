import { expect, test } from 'vitest';
import { UiSessions, sessionCookie, sessionsIn } from './ui-sessions.ts';

const second = 1_000;
const hour = 3_600 * second;

function openSessions() {
  let now = 0;
  return { sessions: new UiSessions(() => now), pass: (ms: number) => (now += ms) };
}

test('exchanges a code for a session once', () => {
  const { sessions } = openSessions();
  const code = sessions.issueCode();

  const session = sessions.redeem(code);

  expect(sessions.accepts(session)).toBe(true);
  expect(sessions.accepts(code)).toBe(false);
  expect(() => sessions.redeem(code)).toThrow('not valid any more');
});

test('a code is valid for a minute', () => {
  const { sessions, pass } = openSessions();
  const code = sessions.issueCode();

  pass(61 * second);

  expect(() => sessions.redeem(code)).toThrow('not valid any more');
});

test('a session ends after twelve hours without a request', () => {
  const { sessions, pass } = openSessions();
  const session = sessions.redeem(sessions.issueCode());

  pass(11 * hour);
  const isValidInUse = sessions.accepts(session);
  pass(11 * hour);
  const isExtended = sessions.accepts(session);
  pass(13 * hour);

  expect([isValidInUse, isExtended, sessions.accepts(session)]).toEqual([true, true, false]);
});

test('a flood of codes does not take more memory, and drops the oldest', () => {
  const { sessions } = openSessions();
  const first = sessions.issueCode();
  const others = Array.from({ length: 100 }, () => sessions.issueCode());

  expect(() => sessions.redeem(first)).toThrow('not valid any more');
  expect(sessions.accepts(sessions.redeem(others.at(-1) ?? ''))).toBe(true);
});

test('the cookie belongs to one port', () => {
  const cookie = sessionCookie('127.0.0.1:8080', 'secret');
  const [pair = ''] = cookie.split(';');

  expect(cookie).toMatch(/; HttpOnly; SameSite=Strict;/);
  expect(sessionsIn(`other=1; ${pair}`, '127.0.0.1:8080')).toEqual(['secret']);
  expect(sessionsIn(pair, '127.0.0.1:9090')).toEqual([]);
  expect(sessionsIn(undefined, '127.0.0.1:8080')).toEqual([]);
});

test('a page on another port cannot hide the cookie behind one of the same name', () => {
  const [pair = ''] = sessionCookie('127.0.0.1:8080', 'secret').split(';');
  const other = pair.replace('secret', 'other');

  expect(sessionsIn(`${other}; ${pair}`, '127.0.0.1:8080')).toEqual(['other', 'secret']);
});
