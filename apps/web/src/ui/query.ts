import { useEffect, useRef, useState } from 'react';
import { useSearch } from 'wouter';
import type { Sort } from './table/columns.ts';

/** How long typing has to rest before the address follows: browsers limit how often a page may change it. */
const restMs = 200;

/** A text of the page that is also a parameter of its address, so that it survives Back, a reload, and a copied link. */
export function useQuery(name: string): [value: string, set: (value: string) => void] {
  const inAddress = new URLSearchParams(useSearch()).get(name) ?? '';
  const [value, setValue] = useState(inAddress);
  const written = useRef(inAddress);
  useEffect(() => {
    if (inAddress === written.current) return;
    written.current = inAddress; // a link or Back has changed it
    setValue(inAddress);
  }, [inAddress]);
  useEffect(() => {
    if (value === written.current) return;
    const timer = setTimeout(() => {
      written.current = value;
      write(name, value);
    }, restMs);
    return () => clearTimeout(timer);
  }, [name, value]);
  return [value, setValue];
}

/** The order of a table, as a parameter of the address: `name`, or `-name` for a descending order. */
export function useSortQuery(first: Sort): [sort: Sort, set: (sort: Sort) => void] {
  const [text, setText] = useQuery('sort');
  const sort = text === '' ? first : { id: text.replace(/^-/, ''), isDescending: text.startsWith('-') };
  return [sort, ({ id, isDescending }) => setText(`${isDescending ? '-' : ''}${id}`)];
}

function write(name: string, value: string): void {
  const url = new URL(location.href);
  if (value === '') url.searchParams.delete(name);
  else url.searchParams.set(name, value);
  history.replaceState(history.state, '', url);
}

/** A part of the address as text. A link with a wrong encoding leads to something that does not exist. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
