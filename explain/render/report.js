"use strict";
const filter = document.getElementById("filter");
filter.addEventListener("input", () => {
  const want = filter.value.toLowerCase();
  for (const row of document.querySelectorAll(".row")) {
    row.classList.toggle("hidden", want !== "" && !row.textContent.toLowerCase().includes(want));
  }
});
